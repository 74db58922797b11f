import { PageTitle } from '../../ui/page-title.tsx';

export function AgentsPage() {
  return <PageTitle title="agents" />;
}
