import { describe, expect, it } from 'vitest';
import { admitBoot, type BootCase } from './boot-admission.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1) + seconds * 1000);
const FACTS = {
  hostname: '',
  vendor: '',
  model: '',
  serialNumber: '',
  systemUuid: '',
  arch: 'x86_64',
  bootMode: 'bios',
  ipAddress: '',
};
const ORDER = {
  operationId: null,
  key: '',
  image: '',
  overwrite: 'ends',
  wantedAt: at(0),
  kickedAt: null,
} as const;
const CLAIM = { address: '192.0.2.7', serialNumber: '', systemUuid: '', isAnswer: false };

interface Change {
  readonly facts?: Partial<typeof FACTS>;
  readonly order?: Partial<BootCase['node']['order']>;
  readonly lastReportAt?: Date;
  readonly claim?: Partial<BootCase['claim']>;
  readonly earlier?: BootCase['earlier'];
  readonly isInNetwork?: boolean;
  readonly now?: Date;
}

function judge({
  facts,
  order,
  lastReportAt,
  claim,
  earlier = null,
  isInNetwork = true,
  now = at(100),
}: Change) {
  return admitBoot({
    node: {
      facts: { ...FACTS, ...facts },
      order: { ...ORDER, ...order },
      stateChangedAt: at(0),
      lastReportAt: lastReportAt ?? null,
    },
    claim: { ...CLAIM, ...claim },
    isInNetwork,
    earlier,
    rules: { windowSeconds: 3600, liveSeconds: 900 },
    now,
  });
}

describe('a boot is expected', () => {
  it('for the window after an approval, a power cycle or a report', () => {
    expect(judge({ now: at(3600) }).verdict).toBe('admitted');
    expect(judge({ now: at(3601) }).verdict).toBe('refused');
    expect(judge({ now: at(4000), order: { kickedAt: at(1000) } }).verdict).toBe('admitted');
    expect(judge({ now: at(4000), lastReportAt: at(1000) }).verdict).toBe('admitted');
  });

  it('from the network of the machine', () => {
    expect(judge({ isInNetwork: false }).verdict).toBe('refused');
  });
});

describe('known hardware', () => {
  const serialNumber = 'CZ 1';
  const systemUuid = '4c4c4544-0042-3510-8057-c7c04f4e4e31';

  it('is asked for once, and must be said', () => {
    const facts = { serialNumber };
    expect(judge({ facts }).verdict).toBe('ask');
    expect(judge({ facts, claim: { isAnswer: true } }).verdict).toBe('refused');
    expect(judge({ facts, claim: { serialNumber: 'cz 1 ' } }).verdict).toBe('admitted');
    expect(judge({ facts, claim: { serialNumber: 'CZ 2' } }).verdict).toBe('refused');
  });

  it('has its UUID in either byte order', () => {
    const facts = { systemUuid };
    for (const said of [systemUuid.toUpperCase(), '44454c4c-4200-1035-8057-c7c04f4e4e31'])
      expect(judge({ facts, claim: { systemUuid: said } }).verdict).toBe('admitted');
    for (const said of ['', '4c4c4544-0042-3510-8057-c7c04f4e4e32', '31'])
      expect(judge({ facts, claim: { systemUuid: said, serialNumber: 'x' } }).verdict).toBe('refused');
  });

  it('of which nothing is known may be any', () => {
    expect(judge({ claim: { serialNumber: 'any' } }).verdict).toBe('admitted');
  });
});

describe('another boot of the same installation', () => {
  const earlier = { bootNo: 1, address: '192.0.2.8', seenAt: at(0) };

  it('at another address is a conflict while it is live', () => {
    expect(judge({ earlier, now: at(899) })).toMatchObject({ verdict: 'conflict', earlier });
    expect(judge({ earlier, now: at(900) }).verdict).toBe('admitted');
  });

  it('at the same address is the machine itself', () => {
    expect(judge({ earlier: { ...earlier, address: CLAIM.address } }).verdict).toBe('admitted');
  });

  it('is over when the power was switched since', () => {
    expect(judge({ earlier, order: { kickedAt: at(1) } }).verdict).toBe('admitted');
    expect(judge({ earlier: { ...earlier, seenAt: at(2) }, order: { kickedAt: at(1) } }).verdict).toBe(
      'conflict',
    );
  });

  it('of an earlier version, whose address is not known, is none', () => {
    expect(judge({ earlier: { ...earlier, address: '' } }).verdict).toBe('admitted');
  });
});
