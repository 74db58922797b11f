import { PageTitle } from '../../ui/page-title.tsx';

export function AuditPage() {
  return <PageTitle title="audit" />;
}
