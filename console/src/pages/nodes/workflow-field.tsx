import { useQuery } from '@tanstack/react-query';
import { failureOf } from '../../api/failure.ts';
import { SelectField } from '../../ui/select-field.tsx';
import { listWorkflows } from './nodes.ts';

export interface WorkflowFieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** The text of the empty option. */
  readonly none: string;
}

/** Selects the workflow that a node is installed with. */
export function WorkflowField(props: WorkflowFieldProps) {
  const workflows = useQuery({ queryKey: ['workflows'], queryFn: listWorkflows });
  return (
    <SelectField
      title="Workflow"
      options={workflows.data?.map(({ name }) => name) ?? []}
      fault={workflows.isError ? failureOf(workflows.error).message : ''}
      {...props}
    />
  );
}
