/** The machine's spec and labels, which clients set. */
import { useState } from 'react';
import { specOfMessage } from '../../../../src/domain/machine/spec/machine-spec.ts';
import { SPEC_FIELD_NAMES, SPEC_FIELDS } from '../../../../src/domain/machine/spec/spec-field.ts';
import type { Machine } from '../../../../src/gen/baremetal/v2/machine_pb.ts';
import { METHODS, useForbidden } from '../../identity.tsx';
import type { MachineView } from '../../machine-view.ts';
import { Button } from '../../ui/button.tsx';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { type Description, draftOf } from './spec-edit.ts';
import { SpecEditor } from './spec-editor.tsx';

export function SpecPanel({ machine }: { machine: MachineView }) {
  const [isEditing, setEditing] = useState(false);
  const [wasEdited, setEdited] = useState(false);
  const forbidden = useForbidden();
  const current = descriptionOfMachine(machine.message);
  const removed = machine.service === 'deleted' ? 'This machine was permanently removed.' : '';
  return (
    <Panel
      title="Spec and labels"
      actions={
        !isEditing && (
          <Button
            disabledBecause={forbidden('operator', METHODS.update) || removed}
            autoFocus={wasEdited}
            onClick={() => setEditing(true)}
          >
            Edit
          </Button>
        )
      }
    >
      {isEditing ? (
        <SpecEditor
          machineId={machine.machineId}
          current={current}
          activeOperationId={machine.activeOperationId}
          onClose={() => {
            // Returns the focus to the Edit button.
            setEdited(true);
            setEditing(false);
          }}
        />
      ) : (
        <SpecView description={current} machine={machine.message} />
      )}
    </Panel>
  );
}

function SpecView({ description, machine }: { description: Description; machine: Machine }) {
  const { spec, labels } = draftOf(description);
  return (
    <dl className="facts">
      {SPEC_FIELD_NAMES.filter((name) => spec[name] !== '').map((name) => (
        <div key={name} className="pair">
          <dt>{SPEC_FIELDS[name].title}</dt>
          <dd className="mono">{spec[name]}</dd>
        </div>
      ))}
      <dt>Labels</dt>
      <dd>
        {labels.length === 0 && <span className="soft">none</span>}
        <ul className="labels">
          {labels.map(({ name, value }) => (
            <li key={name} className="mono">
              <span className="soft">{name}=</span>
              {value}
            </li>
          ))}
        </ul>
      </dd>
      <dt>Registered</dt>
      <dd>
        <Age at={machine.createdAt} />
      </dd>
      <dt>Updated</dt>
      <dd>
        <Age at={machine.updatedAt} />
      </dd>
    </dl>
  );
}

function descriptionOfMachine({ spec, labels }: Machine): Description {
  return { spec: specOfMessage(spec), labels };
}
