import { PageTitle } from '../../ui/page-title.tsx';

export function MachinesPage() {
  return <PageTitle title="machines" />;
}
