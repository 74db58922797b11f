/** Fields of Redfish resources, as plain values: what has another type than the schema's, or says nothing, is not there. */
import { type Fields, fieldsOf, printable, textOf } from '../connection/answer-fields.ts';

const MAX_TEXT = 128;
/** What vendors write where they have nothing to say. */
const PLACEHOLDER =
  /^(?:n\/?a|none|null|unknown|not specified|not available|to be filled by o\.?e\.?m\.?|0+)$/i;

export function text(value: unknown): string | undefined {
  const plain = printable(textOf(value), MAX_TEXT);
  return plain === '' || PLACEHOLDER.test(plain) ? undefined : plain;
}

/** A whole number from 1 up: services write 0 where they do not know. */
export function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 1 ? Math.round(value) : undefined;
}

export function times(value: unknown, factor: number): number | undefined {
  const number = count(value);
  return number === undefined ? undefined : number * factor;
}

/** OK, Warning or Critical; absent where the part does not say. */
export function healthOf(fields: Fields): string | undefined {
  return text(fieldsOf(fields.Status).Health);
}

/** Whether the resource is of a part that is there: services also list empty slots. */
export function isThere(fields: Fields): boolean {
  return textOf(fieldsOf(fields.Status).State) !== 'Absent';
}

/** Where the part is, as the label on the board has it, or as the service calls it. */
export function slotOf(fields: Fields): string | undefined {
  const location = fieldsOf(fieldsOf(fields.Location).PartLocation);
  const physical = fieldsOf(fieldsOf(fields.PhysicalLocation).PartLocation);
  return text(physical.ServiceLabel) ?? text(location.ServiceLabel) ?? text(fields.Id);
}

/** Without what is undefined. */
export function present<Part extends object>(part: Part): { [Key in keyof Part]?: NonNullable<Part[Key]> } {
  return Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as never;
}

/** What every part that can be taken out says of itself. */
export function partFields(fields: Fields) {
  return {
    slot: slotOf(fields),
    model: text(fields.Model),
    manufacturer: text(fields.Manufacturer),
    serial_number: text(fields.SerialNumber),
    part_number: text(fields.PartNumber),
    firmware_version: text(fields.FirmwareVersion) ?? text(fields.Revision),
    health: healthOf(fields),
  };
}
