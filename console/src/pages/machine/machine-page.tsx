import { PageTitle } from '../../ui/page-title.tsx';

export function MachinePage({ machineId }: { machineId: string }) {
  return <PageTitle title={machineId} />;
}
