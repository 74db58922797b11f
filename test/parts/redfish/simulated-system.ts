/** The state of a simulated machine behind a BMC: power that takes time, a boot override that is used up by a boot. */
import type { VendorShape } from './vendor-shape.ts';

export interface BootOverride {
  enabled: string;
  target: string;
  mode: string;
  /** Empty: none. */
  httpUri: string;
  /** The device path of a UEFI target; empty: none. */
  uefiTarget: string;
}

const POWER_OFF_STATES: readonly string[] = ['ForceOff', 'GracefulShutdown'];

type PowerState = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';

/** A real machine behind it: switched on from where the override says, and off. */
export interface MachineBehind {
  powerOn(from: string, httpUri: string): void;
  powerOff(): void;
  isOn(): boolean;
}

export class SimulatedSystem {
  #power: PowerState = 'Off';
  readonly boot: BootOverride = {
    enabled: 'Disabled',
    target: 'None',
    mode: 'UEFI',
    httpUri: '',
    uefiTarget: '',
  };
  /** What each boot was from, oldest first. */
  readonly boots: string[] = [];
  readonly resets: string[] = [];
  version = 1;
  /** Called at each boot. */
  readonly onBoot: Array<() => void> = [];
  behind: MachineBehind | null = null;
  readonly #settleMs: number;
  #settling: NodeJS.Timeout | null = null;

  /** `settleMs`: how long power takes to change after the answer. */
  constructor(settleMs: number) {
    this.#settleMs = settleMs;
  }

  /** A machine behind it may have switched itself off. */
  get power(): PowerState {
    if (this.#power === 'On' && this.behind?.isOn() === false) this.#power = 'Off';
    return this.#power;
  }

  set power(state: PowerState) {
    this.#power = state;
  }

  /** Null: carried out. Otherwise the reset does not fit the power state. */
  reset(given: string): 'does not fit' | null {
    const type = given === 'ForceOn' ? 'On' : given;
    const isOn = this.power === 'On' || this.power === 'PoweringOff';
    if (type === 'On' && isOn && this.power === 'On') return 'does not fit';
    if (POWER_OFF_STATES.includes(type) && !isOn) return 'does not fit';
    this.resets.push(given);
    // A kernel may write its dump; the machine stays on.
    if (type === 'Nmi') return null;
    // What comes while the machine is on its way off is lost.
    if (type === 'On' && this.power === 'PoweringOff') return null;
    const goesOff = POWER_OFF_STATES.includes(type) || (type === 'PushPowerButton' && isOn);
    if (goesOff) this.#change('PoweringOff', 'Off');
    else if (type === 'On' || type === 'PushPowerButton') this.#change('PoweringOn', 'On');
    else this.#bootNow();
    return null;
  }

  #change(by: PowerState, to: 'On' | 'Off'): void {
    if (this.#settling) clearTimeout(this.#settling);
    this.power = by;
    this.version += 1;
    const settle = () => {
      this.power = to;
      this.version += 1;
      if (to === 'On') this.#bootNow();
      else this.behind?.powerOff();
    };
    if (this.#settleMs === 0) settle();
    else this.#settling = setTimeout(settle, this.#settleMs);
  }

  #bootNow(): void {
    const { boot } = this;
    const from = boot.enabled === 'Disabled' ? 'None' : boot.target;
    this.boots.push(from);
    this.behind?.powerOn(from, boot.httpUri);
    for (const call of this.onBoot) call();
    if (boot.enabled === 'Once') Object.assign(boot, { enabled: 'Disabled', target: 'None' });
    this.version += 1;
  }

  change(override: Partial<BootOverride>, { bootMode }: Pick<VendorShape, 'bootMode'>): void {
    const { enabled = this.boot.enabled, target = this.boot.target } = override;
    const mode = override.mode ?? (bootMode === 'reverts' ? 'Legacy' : this.boot.mode);
    Object.assign(this.boot, {
      enabled,
      target,
      mode,
      httpUri: override.httpUri ?? this.boot.httpUri,
      uefiTarget: override.uefiTarget ?? this.boot.uefiTarget,
    });
    this.version += 1;
  }

  stop(): void {
    if (this.#settling) clearTimeout(this.#settling);
  }
}
