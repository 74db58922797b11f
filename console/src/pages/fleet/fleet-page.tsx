import { PageTitle } from '../../ui/page-title.tsx';

export function FleetPage() {
  return <PageTitle title="fleet" />;
}
