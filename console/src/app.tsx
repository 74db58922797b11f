import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactNode, Suspense, useCallback, useEffect } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { operationIdOf } from '../../src/domain/v1/run-id.ts';
import { fleet } from './api/clients.ts';
import { type Identity, IdentityProvider } from './identity.tsx';
import { PageActionProvider } from './keyboard/page-actions.tsx';
import { ShortcutProvider } from './keyboard/shortcuts.tsx';
import { LiveProvider } from './live/live.tsx';
import { isMachineTab } from './pages/machine/machine-tabs.tsx';
import { SignIn } from './pages/sign-in.tsx';
import { checkSession, useSession } from './session.ts';
import { Shell } from './shell.tsx';
import { Empty, Failed, Loading } from './ui/blank.tsx';
import { ErrorBoundary } from './ui/error-boundary.tsx';
import { PageTitle } from './ui/page-title.tsx';
import { ToastProvider } from './ui/toasts.tsx';
import { GuardedRouter } from './unsaved.tsx';

const FleetPage = lazy(() => import('./pages/fleet/fleet-page.tsx').then((m) => ({ default: m.FleetPage })));
const MachinesPage = lazy(() =>
  import('./pages/machines/machines-page.tsx').then((m) => ({ default: m.MachinesPage })),
);
const MachinePage = lazy(() =>
  import('./pages/machine/machine-page.tsx').then((m) => ({ default: m.MachinePage })),
);
const RacksPage = lazy(() => import('./pages/racks/racks-page.tsx').then((m) => ({ default: m.RacksPage })));
const OperationsPage = lazy(() =>
  import('./pages/operations/operations-page.tsx').then((m) => ({ default: m.OperationsPage })),
);
const OperationPage = lazy(() =>
  import('./pages/operation/operation-page.tsx').then((m) => ({ default: m.OperationPage })),
);
const RolloutsPage = lazy(() =>
  import('./pages/rollouts/rollouts-page.tsx').then((m) => ({ default: m.RolloutsPage })),
);
const RolloutPage = lazy(() =>
  import('./pages/rollout/rollout-page.tsx').then((m) => ({ default: m.RolloutPage })),
);
const BudgetsPage = lazy(() =>
  import('./pages/budgets/budgets-page.tsx').then((m) => ({ default: m.BudgetsPage })),
);
const NodesPage = lazy(() => import('./pages/nodes/nodes-page.tsx').then((m) => ({ default: m.NodesPage })));
const AgentsPage = lazy(() =>
  import('./pages/agents/agents-page.tsx').then((m) => ({ default: m.AgentsPage })),
);
const PoolsPage = lazy(() => import('./pages/pools/pools-page.tsx').then((m) => ({ default: m.PoolsPage })));
const PlansPage = lazy(() => import('./pages/plans/plans-page.tsx').then((m) => ({ default: m.PlansPage })));
const ImagesPage = lazy(() =>
  import('./pages/images/images-page.tsx').then((m) => ({ default: m.ImagesPage })),
);
const WorkflowsPage = lazy(() =>
  import('./pages/workflows/workflows-page.tsx').then((m) => ({ default: m.WorkflowsPage })),
);
const ProvidersPage = lazy(() =>
  import('./pages/providers/providers-page.tsx').then((m) => ({ default: m.ProvidersPage })),
);
const StartPage = lazy(() => import('./pages/start/start-page.tsx').then((m) => ({ default: m.StartPage })));
const AccessPage = lazy(() =>
  import('./pages/access/access-page.tsx').then((m) => ({ default: m.AccessPage })),
);
const AuditPage = lazy(() => import('./pages/audit/audit-page.tsx').then((m) => ({ default: m.AuditPage })));

export function App() {
  const session = useSession();
  useEffect(() => void checkSession(), []);
  switch (session.status) {
    case 'checking':
      return <ShellSkeleton />;
    case 'unreachable':
      return <Unreachable error={session.error} onRetry={retrySession} />;
    case 'signed-out':
      return <SignIn reason={session.reason} />;
    case 'signed-in':
      // Another session may be another user's: nothing of the previous one may stay in memory.
      return (
        <LiveProvider key={session.number}>
          <GuardedRouter>
            <SignedIn />
          </GuardedRouter>
        </LiveProvider>
      );
  }
}

/** The same as in index.html, which is painted before the scripts are there. */
function ShellSkeleton({ children }: { children?: ReactNode }) {
  return (
    <div className="shell" aria-busy={children === undefined}>
      <div className="topbar" />
      <div className="sidebar">
        <span className="brand">
          <img src="/icon.svg" alt="" width="20" height="20" />
          Ingot
        </span>
        <span className="skeleton" />
        <span className="skeleton" />
        <span className="skeleton" />
      </div>
      <main className="page stack">
        {children ?? (
          <>
            <span className="visually-hidden">Loading</span>
            <span className="skeleton title" />
            <span className="skeleton block" />
            <span className="skeleton block" />
          </>
        )}
      </main>
    </div>
  );
}

const RETRY_MS = 3_000;

/** The frame stays, and the page opens by itself when the server is back. */
function Unreachable({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  useEffect(() => {
    const timer = setInterval(onRetry, RETRY_MS);
    return () => clearInterval(timer);
  }, [onRetry]);
  return (
    <ShellSkeleton>
      <Failed what="The server is away" error={error} onRetry={onRetry} />
      <p className="soft" role="status">
        This page opens when the server responds again.
      </p>
    </ShellSkeleton>
  );
}

const retrySession = () => void checkSession();

function SignedIn() {
  const [path] = useLocation();
  const identity = useQuery({ queryKey: ['identity'], queryFn: whoAmI, staleTime: Number.POSITIVE_INFINITY });
  const { refetch } = identity;
  const retryIdentity = useCallback(() => void refetch(), [refetch]);
  if (identity.isPending) return <ShellSkeleton />;
  if (identity.isError) return <Unreachable error={identity.error} onRetry={retryIdentity} />;
  return (
    <IdentityProvider identity={identity.data}>
      <ToastProvider>
        <ShortcutProvider>
          <PageActionProvider>
            <Shell>
              <ErrorBoundary key={pageOf(path)}>
                <Suspense fallback={<Loading lines={6} />}>
                  <Pages />
                </Suspense>
              </ErrorBoundary>
            </Shell>
          </PageActionProvider>
        </ShortcutProvider>
      </ToastProvider>
    </IdentityProvider>
  );
}

/** The tabs of a page are one page: it keeps its state and its focus. */
function pageOf(path: string): string {
  return path.split('/').slice(0, 3).join('/');
}

async function whoAmI(): Promise<Identity> {
  const { name, role, version, scope, methods, insecurePlaintext } = await fleet.whoAmI({});
  return { name, role, version, scope, methods: new Set(methods), insecurePlaintext };
}

function Pages() {
  return (
    <Switch>
      <Route path="/">
        <Redirect to="/fleet" replace />
      </Route>
      <Route path="/fleet" component={FleetPage} />
      <Route path="/machines" component={MachinesPage} />
      <Route path="/machines/:id/:tab?">
        {({ id, tab = 'overview' }) =>
          isMachineTab(tab) ? <MachinePage key={id} machineId={id} tab={tab} /> : <NotFound />
        }
      </Route>
      <Route path="/racks" component={RacksPage} />
      <Route path="/operations" component={OperationsPage} />
      <Route path="/operations/:id">
        {({ id }) => <OperationPage key={id} operationId={operationIdOf(id)} />}
      </Route>
      <Route path="/rollouts" component={RolloutsPage} />
      <Route path="/rollouts/:id">{({ id }) => <RolloutPage key={id} rolloutId={id} />}</Route>
      <Route path="/nodes" component={NodesPage} />
      <Route path="/agents" component={AgentsPage} />
      <Route path="/pools" component={PoolsPage} />
      <Route path="/images" component={ImagesPage} />
      <Route path="/workflows" component={WorkflowsPage} />
      <Route path="/plans" component={PlansPage} />
      <Route path="/providers" component={ProvidersPage} />
      <Route path="/start" component={StartPage} />
      <Route path="/budgets" component={BudgetsPage} />
      <Route path="/access" component={AccessPage} />
      <Route path="/audit" component={AuditPage} />
      <Route>
        <NotFound />
      </Route>
    </Switch>
  );
}

function NotFound() {
  const [path] = useLocation();
  useEffect(() => {
    document.title = 'Not found · Ingot';
  }, []);
  return (
    <>
      <PageTitle title="Page not found" />
      <Empty title={path}>Use the menu on the left, or press Ctrl-K to search.</Empty>
    </>
  );
}
