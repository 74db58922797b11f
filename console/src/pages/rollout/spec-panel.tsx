/** What the rollout was asked to do. */
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Rollout, RolloutSpec } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { listOf } from '../../pages.ts';
import { Panel } from '../../ui/panel.tsx';
import { Clock } from '../../ui/time.tsx';
import {
  blackoutText,
  gateText,
  limitText,
  stepText,
  stopTexts,
  wavesText,
  windowText,
} from './spec-text.ts';

export function SpecPanel({ rollout }: { rollout: Rollout }) {
  const { spec } = rollout;
  if (!spec) return null;
  return (
    <Panel title="What it does">
      <dl className="facts">
        <Fact name="Steps">
          <ol className="ro-plain">
            {spec.steps.map((step, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: steps have no other identity than their position
              <li key={index} className="mono wraps">
                {stepText(step)}
              </li>
            ))}
          </ol>
        </Fact>
        <Fact name="Machines">
          <Where rollout={rollout} spec={spec} />
        </Fact>
        <Fact name="Waves">
          {wavesText(spec)}
          {spec.soak !== '' && `, soak ${spec.soak}`}
        </Fact>
        <Fact name="Gate">{gateText(spec)}</Fact>
        <Fact name="At once">{spec.maxParallel || 'no limit'}</Fact>
        <Texts name="Limits" texts={spec.limits.map(limitText)} />
        <Texts name="Stops" texts={stopTexts(spec.stop)} none="never by itself" />
        <Texts name="Windows" texts={spec.windows.map(windowText)} />
        <Texts name="Black-out" texts={spec.blackouts.map(blackoutText)} />
        {spec.startAt && (
          <Fact name="Start">
            <Clock at={spec.startAt} />
          </Fact>
        )}
        {spec.deadline && (
          <Fact name="Deadline">
            <Clock at={spec.deadline} />
          </Fact>
        )}
        {spec.overrideBudget && <Fact name="Budgets">overridden</Fact>}
        {spec.reason !== '' && <Fact name="Reason">{spec.reason}</Fact>}
      </dl>
    </Panel>
  );
}

function Where({ rollout, spec }: { rollout: Rollout; spec: RolloutSpec }) {
  const total = (rollout.machines?.total ?? 0).toLocaleString('en');
  const all = <Link href={listOf('/machines', `rollout = ${rollout.rolloutId}`)}>{total}</Link>;
  if (spec.filter === '') return <>{all} by id</>;
  return (
    <>
      {all} that matched <code className="wraps">{spec.filter}</code>
      {spec.follow && ', and those that come to match'}
    </>
  );
}

function Texts({ name, texts, none = '' }: { name: string; texts: readonly string[]; none?: string }) {
  if (texts.length === 0 && none === '') return null;
  return (
    <Fact name={name}>{texts.length === 0 ? none : texts.map((text) => <div key={text}>{text}</div>)}</Fact>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="pair">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
