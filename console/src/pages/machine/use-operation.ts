import { useQuery } from '@tanstack/react-query';
import { operations } from '../../api/clients.ts';
import { operationView } from '../../operation-view.ts';
import { operationKey } from '../operation/operation-key.ts';

export function useOperation(operationId: string) {
  return useQuery({
    queryKey: operationKey(operationId),
    queryFn: () => operations.getOperation({ operationId }),
    enabled: operationId !== '',
    select: operationView,
  });
}
