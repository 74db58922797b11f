import { PageTitle } from '../../ui/page-title.tsx';

export function OperationPage({ operationId }: { operationId: string }) {
  return <PageTitle title={operationId} />;
}
