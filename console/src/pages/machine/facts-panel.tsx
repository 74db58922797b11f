/** Where the machine is and what it is: the facts that people ask for first. The other tabs have all of them. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import {
  SPEC_FIELD_NAMES,
  SPEC_FIELDS,
  type SpecFieldName,
} from '../../../../src/domain/machine/spec/spec-field.ts';
import type { MachineView } from '../../machine-view.ts';
import { listOf, quoted } from '../../pages.ts';
import { Panel } from '../../ui/panel.tsx';
import { Age } from '../../ui/time.tsx';
import { machineTabHref } from './machine-tabs.tsx';
import { draftOf } from './spec-edit.ts';

/** Those of the spec that tell where it is and what runs on it. */
const FIRST: readonly SpecFieldName[] = SPEC_FIELD_NAMES.filter(
  (name) => name === 'provider' || name === 'target_cluster_ref' || name.startsWith('location.'),
);

export function FactsPanel({ machine }: { machine: MachineView }) {
  const { machineId, pool, spec, labels, message } = machine;
  const texts = draftOf({ spec, labels }).spec;
  const agent = message.status?.agent;
  const facts: readonly (readonly [title: string, value: ReactNode])[] = [
    ...FIRST.map((name) => [SPEC_FIELDS[name].title, texts[name]] as const),
    ['Pool', pool && <Link href={listOf('/machines', `pool = ${quoted(pool)}`)}>{pool}</Link>],
    ['Hostname', agent?.hostname],
    ['Last contact', agent?.lastKeepalive && <Age at={agent.lastKeepalive} />],
    ['Registered', <Age key="registered" at={message.createdAt} />],
  ];
  return (
    <Panel
      title="About"
      actions={<Link href={machineTabHref(machineId, 'configuration')}>All configuration</Link>}
    >
      <dl className="facts wide-facts">
        {facts
          .filter(([, value]) => value !== undefined && value !== '')
          .map(([title, value]) => (
            <div key={title} className="fact">
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </Panel>
  );
}
