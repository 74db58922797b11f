/** Workflows: how machines are installed over the network. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { BUILT_IN_PROFILE } from '../../../../src/domain/install/install-profile.ts';
import { rest } from '../../api/rest.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import { useOfferActions } from '../../keyboard/page-actions.tsx';
import { Failed, Loading } from '../../ui/blank.tsx';
import { Button } from '../../ui/button.tsx';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { Icon } from '../../ui/icon.tsx';
import { PageTitle } from '../../ui/page-title.tsx';
import { Panel } from '../../ui/panel.tsx';
import { useToasts } from '../../ui/toasts.tsx';

interface WorkflowBody {
  readonly name: string;
  readonly description: string;
  readonly kernel: string;
  readonly cmdline: string;
  readonly image: { readonly name?: string; readonly url?: string } | null;
  readonly post_install: string;
}

const KEY = ['workflows'] as const;
const NEW = { name: 'my-workflow', description: '', image: { name: 'ubuntu-22.04' }, post_install: 'reboot' };

type OpenDialog =
  | { readonly about: 'edit'; readonly text: string }
  | { readonly about: 'remove'; readonly name: string };

export function WorkflowsPage() {
  const [dialog, open] = useState<OpenDialog | null>(null);
  const forbidden = useForbidden()('admin', METHODS.changeWorkflows);
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: KEY,
    queryFn: async () => (await rest<{ data: WorkflowBody[] }>('GET', '/api/v1/workflows')).data,
  });
  const create = () => open({ about: 'edit', text: JSON.stringify(NEW, null, 2) });
  const refresh = () => void queries.invalidateQueries({ queryKey: KEY });
  useOfferActions([{ text: 'New workflow', disabledBecause: forbidden, run: create }]);
  return (
    <>
      <PageTitle
        title="Workflows"
        actions={
          <Button kind="primary" disabledBecause={forbidden} onClick={create}>
            <Icon name="plus" /> New workflow
          </Button>
        }
      />
      <Panel title="Workflows" padding="none">
        {list.isPending && <Loading lines={4} />}
        {list.isError && !list.data && (
          <Failed what="Failed to load workflows" error={list.error} onRetry={() => void list.refetch()} />
        )}
        {list.data && (
          <WorkflowTable
            workflows={list.data}
            forbidden={forbidden}
            onEdit={(workflow) => open({ about: 'edit', text: JSON.stringify(workflow, null, 2) })}
            onRemove={(name) => open({ about: 'remove', name })}
          />
        )}
      </Panel>
      {dialog?.about === 'edit' && (
        <EditDialog initial={dialog.text} onDone={refresh} onClose={() => open(null)} />
      )}
      {dialog?.about === 'remove' && (
        <FormDialog
          title={`Remove ${dialog.name}?`}
          verb="Remove"
          kind="danger-primary"
          missing=""
          act={() => rest('DELETE', `/api/v1/workflows/${encodeURIComponent(dialog.name)}`)}
          onDone={refresh}
          onClose={() => open(null)}
          command={`ingot workflow remove ${dialog.name}`}
        >
          <p>Nodes that are assigned to it can't be installed until they get another one.</p>
        </FormDialog>
      )}
    </>
  );
}

interface WorkflowTableProps {
  readonly workflows: readonly WorkflowBody[];
  readonly forbidden: string;
  readonly onEdit: (workflow: WorkflowBody) => void;
  readonly onRemove: (name: string) => void;
}

function WorkflowTable({ workflows, forbidden, onEdit, onRemove }: WorkflowTableProps) {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>Workflow</th>
          <th>Image</th>
          <th>Kernel</th>
          <th>After the installation</th>
          <th>
            <span className="visually-hidden">Actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {workflows.map((workflow) => {
          const { name, description, kernel, image, post_install: after } = workflow;
          const isBuiltIn = name === BUILT_IN_PROFILE.name;
          const fixed = forbidden || (isBuiltIn ? 'This workflow is built in.' : '');
          return (
            <tr key={name}>
              <td className="wraps">
                <strong>{name}</strong>
                <div className="soft">{description}</div>
              </td>
              <td>
                {image?.name ?? image?.url ?? <span className="soft">of the operation or the node</span>}
              </td>
              <td className="mono wraps">{kernel}</td>
              <td>{after}</td>
              <td>
                <span className="row">
                  <Button
                    kind="quiet"
                    label={`Edit ${name}`}
                    disabledBecause={forbidden}
                    onClick={() => onEdit(workflow)}
                  >
                    Edit
                  </Button>
                  <Button
                    kind="quiet"
                    label={`Remove ${name}`}
                    disabledBecause={fixed}
                    onClick={() => onRemove(name)}
                  >
                    Remove
                  </Button>
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

interface EditDialogProps {
  readonly initial: string;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

function EditDialog({ initial, onDone, onClose }: EditDialogProps) {
  const [text, setText] = useState(initial);
  const { notify } = useToasts();
  const read = readJson(text);
  return (
    <FormDialog
      title="Store a workflow"
      verb="Save"
      size="wide"
      missing={typeof read === 'string' ? read : ''}
      act={() => rest<{ data: WorkflowBody }>('POST', '/api/v1/workflows', read)}
      onDone={({ data }) => {
        notify(`Workflow ${data.name} is stored`);
        onDone();
      }}
      onClose={onClose}
      command="ingot workflow create --file workflow.json"
    >
      <label className="field">
        <span>Workflow, as JSON; one of the same name is replaced</span>
        <textarea
          className="input mono"
          rows={14}
          spellCheck={false}
          aria-invalid={typeof read === 'string' || undefined}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
    </FormDialog>
  );
}

/** What it is, or what is wrong with the text. */
function readJson(text: string): object | string {
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null ? read : 'This is no JSON object.';
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}
