/** Edits what is recorded of a node. Only the fields that differ are sent. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { shellWord } from '../../shell-word.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { useToasts } from '../../ui/toasts.tsx';
import { TextInput } from '../rollout-draft/text-input.tsx';
import { type EditedNode, editNode, type NodeFields } from './nodes.ts';

const TEXTS = [
  ['hostname', 'Hostname', 'web-r11-u14', '--hostname'],
  ['vendor', 'Vendor', 'Dell Inc.', '--vendor'],
  ['model', 'Model', 'PowerEdge R760', '--model'],
  ['serial_number', 'Serial number', 'CZ29410JK', '--serial-number'],
  ['notes', 'Notes', 'DIMM B2 was replaced', '--notes'],
] as const satisfies ReadonlyArray<readonly [keyof NodeFields, string, string, string]>;

const CHOICES = [
  ['arch', 'Architecture', ['x86_64', 'arm64'], '--arch'],
  ['boot_mode', 'Boot mode', ['bios', 'uefi', 'pi'], '--boot-mode'],
] as const satisfies ReadonlyArray<readonly [keyof NodeFields, string, readonly string[], string]>;

type Texts = Readonly<Record<keyof NodeFields, string>>;

function textsOf(node: EditedNode): Texts {
  const { hostname, vendor, model, serial_number, arch, boot_mode, notes, tags } = node;
  const plain = { hostname, vendor, model, serial_number, arch, boot_mode, notes: notes ?? null };
  const texts = Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, value ?? '']));
  return { ...texts, tags: tags.join(', ') } as Texts;
}

/** The fields that differ from those of the node; one that is empty now is removed. */
function changesOf(before: Texts, after: Texts): Partial<Record<keyof NodeFields, unknown>> {
  const changed = Object.entries(after).filter(([name, text]) => text.trim() !== before[name as keyof Texts]);
  return Object.fromEntries(
    changed.map(([name, text]) => {
      if (name !== 'tags') return [name, text.trim() === '' ? null : text.trim()];
      const tags = text.split(',').map((tag) => tag.trim());
      return [name, tags.filter((tag) => tag !== '')];
    }),
  );
}

export function EditNodeDialog({ node, onClose }: { node: EditedNode; onClose: () => void }) {
  const before = textsOf(node);
  const [texts, setTexts] = useState(before);
  const queries = useQueryClient();
  const { notify } = useToasts();
  const changes = changesOf(before, texts);
  const set = (name: keyof NodeFields) => (text: string) => setTexts({ ...texts, [name]: text });
  return (
    <FormDialog
      title={`Edit ${node.hostname || node.id}`}
      verb="Save"
      missing={Object.keys(changes).length === 0 ? 'Change a field first.' : ''}
      act={() => editNode(node.id, changes)}
      onDone={() => {
        notify(`${node.hostname || node.id} is saved`);
        void queries.invalidateQueries({ queryKey: ['fleet-wide', 'nodes'] });
        void queries.invalidateQueries({ queryKey: ['machine', node.id] });
      }}
      onClose={onClose}
      command={commandOf(node.id, texts, changes)}
    >
      <div className="field-pairs">
        {TEXTS.map(([name, title, placeholder]) => (
          <TextInput
            key={name}
            title={title}
            placeholder={placeholder}
            value={texts[name]}
            onChange={set(name)}
          />
        ))}
        {CHOICES.map(([name, title, options]) => (
          <label key={name} className="field">
            <span>{title}</span>
            <select className="input" value={texts[name]} onChange={(event) => set(name)(event.target.value)}>
              {['', ...new Set([...options, texts[name]].filter(Boolean))].map((option) => (
                <option key={option} value={option}>
                  {option || 'unknown'}
                </option>
              ))}
            </select>
          </label>
        ))}
        <TextInput
          title="Tags"
          placeholder="rack-7, spare"
          hint="Separated by commas"
          value={texts.tags}
          onChange={set('tags')}
        />
      </div>
    </FormDialog>
  );
}

function commandOf(id: string, texts: Texts, changes: Partial<Record<keyof NodeFields, unknown>>): string {
  const flags = [...TEXTS, ...CHOICES]
    .filter(([name]) => name in changes)
    .map(([name, , , flag]) =>
      texts[name].trim() === '' ? `--clear ${name}` : `${flag} ${shellWord(texts[name].trim())}`,
    );
  return ['ingot node edit', shellWord(id), ...flags].join(' ');
}
