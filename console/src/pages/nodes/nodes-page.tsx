import { PageTitle } from '../../ui/page-title.tsx';

export function NodesPage() {
  return <PageTitle title="nodes" />;
}
