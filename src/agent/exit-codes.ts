/** The exit codes of the agent, for its service manager. */
export const AGENT_EXITS = {
  stopped: { code: 0, meaning: 'it was asked to stop' },
  wrongSetting: { code: 64, meaning: 'a setting is wrong or missing' },
  staleCredential: {
    code: 75,
    meaning:
      'its token was refused, and only a restart can load another: systemd passes credentials at the start',
  },
  revoked: { code: 77, meaning: 'its token was revoked: the machine was decommissioned or removed' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type AgentExit = keyof typeof AGENT_EXITS;
