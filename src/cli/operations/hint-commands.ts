/** The commands that hints name: those of operations, or those of runs. */
export interface HintCommands {
  readonly list: string;
  readonly show: string;
  readonly attach: string;
  readonly watch: string;
  readonly logs: string;
  readonly cancel: string;
}

export const OPERATION_HINTS: HintCommands = {
  list: 'ops',
  show: 'op show',
  attach: 'op watch',
  watch: 'watch',
  logs: 'logs',
  cancel: 'cancel',
};
