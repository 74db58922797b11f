import { PageTitle } from '../../ui/page-title.tsx';

export function OperationsPage() {
  return <PageTitle title="operations" />;
}
