/** ENTER_MAINTENANCE as people read it: "Enter maintenance". */
import { capitalize } from './capitalize.ts';

export function operationWords(type: string): string {
  return type === 'RMA' ? type : capitalize(type.toLowerCase().replaceAll('_', ' '));
}
