/** What the agent ends with; a service manager acts upon it. */
export const AGENT_EXITS = {
  stopped: { code: 0, meaning: 'it was asked to stop' },
  wrongSetting: { code: 64, meaning: 'a setting is wrong or missing' },
  staleCredential: {
    code: 75,
    meaning:
      'its token was refused, and only a restart can give it another: systemd hands credentials over at the start',
  },
  revoked: { code: 77, meaning: 'its token was revoked for good: the machine was decommissioned or removed' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type AgentExit = keyof typeof AGENT_EXITS;
