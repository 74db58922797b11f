import type { Hardware } from '../../../../../src/gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { Panel } from '../../../ui/panel.tsx';
import { Age } from '../../../ui/time.tsx';
import { type Slot, slotGroups } from './slots.ts';

/** Every slot with what is in it. Its health is a colour and a word: a colour alone says nothing to some. */
export function SlotsPanel({ hardware }: { hardware: Hardware }) {
  const { system, sources } = hardware;
  const name = [system?.vendor, system?.model].filter(Boolean).join(' ');
  return (
    <Panel title="Slots">
      <div className="stack">
        <p className="soft">
          {name !== '' && `${name}${system?.serialNumber ? `, serial ${system.serialNumber}` : ''}. `}
          {sources.map(({ source, reportedAt }) => (
            <span key={source}>
              {source}: <Age at={reportedAt} />{' '}
            </span>
          ))}
        </p>
        <div className="slot-groups">
          {slotGroups(hardware).map(({ title, slots }) => (
            <section key={title} className="slot-group" aria-label={title}>
              <h3>
                {title} <span className="soft">{occupied(slots)}</span>
              </h3>
              <ul className="slots">
                {slots.map((slot, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: a source may name two slots alike
                  <SlotShown key={`${slot.place} ${index}`} slot={slot} />
                ))}
              </ul>
            </section>
          ))}
        </div>
      </div>
    </Panel>
  );
}

/** "6 of 8" where slots are empty. */
function occupied(slots: readonly Slot[]): string {
  const used = slots.filter(({ part, health }) => part !== '' || health !== 'empty').length;
  return used === slots.length ? String(used) : `${used} of ${slots.length}`;
}

function SlotShown({ slot: { place, part, health, tone, detail } }: { slot: Slot }) {
  const isEmpty = health === 'empty';
  return (
    <li className={isEmpty ? 'slot slot-empty' : `slot tone-${tone}`} title={detail || undefined}>
      <strong>{place}</strong>
      {!isEmpty && <span className="slot-part">{part || 'present'}</span>}
      <span className="slot-health">{health}</span>
      {detail !== '' && <span className="visually-hidden">{detail}</span>}
    </li>
  );
}
