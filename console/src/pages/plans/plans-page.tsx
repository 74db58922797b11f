import { PageTitle } from '../../ui/page-title.tsx';

export function PlansPage() {
  return <PageTitle title="plans" />;
}
