/** What a person asks of a machine's power. The server's checks, the command line and the documentation read this table. */
export type PowerRequest = 'on' | 'off' | 'shutdown' | 'restart' | 'reset' | 'cycle' | 'nmi' | 'push-button';

interface PowerRequestInfo {
  /** For help: "switch it on". */
  readonly description: string;
  /** The power that it ends in, and that shows that it was done. Null: nothing of the machine shows that. */
  readonly endsIn: 'on' | 'off' | null;
  /** Ends what runs on the machine without asking it. */
  readonly isHard: boolean;
  /** The reset types of Redfish that do it, first choice first. */
  readonly redfish: readonly string[];
  /** The command of IPMI; null: it has none. */
  readonly ipmi: string | null;
}

export const POWER_REQUESTS = {
  on: {
    description: 'switch it on',
    endsIn: 'on',
    isHard: false,
    redfish: ['On', 'ForceOn'],
    ipmi: 'on',
  },
  off: {
    description: 'switch it off at once',
    endsIn: 'off',
    isHard: true,
    redfish: ['ForceOff'],
    ipmi: 'off',
  },
  shutdown: {
    description: 'have its operating system shut down, and wait until it is off',
    endsIn: 'off',
    isHard: false,
    // Pushing the button is what ACPI makes of a request to shut down; it is never used to switch on.
    redfish: ['GracefulShutdown', 'PushPowerButton'],
    ipmi: 'soft',
  },
  restart: {
    description: 'have its operating system restart it',
    endsIn: null,
    isHard: false,
    redfish: ['GracefulRestart'],
    ipmi: null,
  },
  reset: {
    description: 'reset it at once, without its operating system',
    endsIn: null,
    isHard: true,
    redfish: ['ForceRestart', 'PowerCycle'],
    ipmi: 'reset',
  },
  cycle: {
    description: 'switch it off and on again at once',
    endsIn: null,
    isHard: true,
    redfish: ['PowerCycle'],
    ipmi: 'cycle',
  },
  nmi: {
    description: 'send a non-maskable interrupt, after which a kernel may write its dump',
    endsIn: null,
    isHard: true,
    redfish: ['Nmi'],
    ipmi: 'diag',
  },
  'push-button': {
    description: 'push its power button once',
    endsIn: null,
    isHard: false,
    redfish: ['PushPowerButton'],
    ipmi: null,
  },
} as const satisfies Record<PowerRequest, PowerRequestInfo>;

export const POWER_REQUEST_NAMES = Object.keys(POWER_REQUESTS) as PowerRequest[];

export function isPowerRequest(text: string): text is PowerRequest {
  return Object.hasOwn(POWER_REQUESTS, text);
}
