/** `--jq`: what a command prints as JSON goes through a filter of jq. The library is jq itself, compiled to WebAssembly. */
import { UsageError } from '../errors/usage-error.ts';
import { plainLogLine } from './plain-text.ts';

/** The text may be one value or several, one after another. */
export async function selectJson(json: string, filter: string): Promise<string> {
  const { raw } = await import('jq-wasm');
  try {
    const selected = await raw(json, filter, ['-r']);
    return selected === '' ? '' : `${selected.split('\n').map(plainLogLine).join('\n')}\n`;
  } catch (error) {
    throw new UsageError(`--jq: ${messageOf(error)}`);
  }
}

/** jq names itself and the file that it read, which here is none. */
function messageOf(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  return first.replace(/^jq: error(?: \(at [^)]*\))?: /, '');
}
