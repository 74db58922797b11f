/** The parts of a machine's page. Each has its own URL, so that a link shows what its sender saw. */
import { Link } from 'wouter';
import { machineHref } from '../../pages.ts';

const MACHINE_TABS = {
  overview: 'Overview',
  hardware: 'Hardware',
  console: 'Console',
  operations: 'Operations',
  history: 'History',
  configuration: 'Configuration',
} as const;
export type MachineTab = keyof typeof MACHINE_TABS;

export function isMachineTab(text: string): text is MachineTab {
  return Object.hasOwn(MACHINE_TABS, text);
}

export function machineTabHref(machineId: string, tab: MachineTab): string {
  return tab === 'overview' ? machineHref(machineId) : `${machineHref(machineId)}/${tab}`;
}

export function MachineTabs({ machineId, shown }: { machineId: string; shown: MachineTab }) {
  return (
    <nav className="tabs page-tabs" aria-label="Machine">
      {(Object.keys(MACHINE_TABS) as MachineTab[]).map((tab) => (
        <Link
          key={tab}
          href={machineTabHref(machineId, tab)}
          aria-current={tab === shown ? 'page' : undefined}
        >
          {MACHINE_TABS[tab]}
        </Link>
      ))}
    </nav>
  );
}
