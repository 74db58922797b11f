/** Processors of a Redfish service: sockets, and GPUs where it has them there. */
import type { GpuFacts, ProcessorFacts } from '../../domain/install/hardware-inventory.ts';
import { fieldsOf } from '../extended-error.ts';
import type { Resource } from '../redfish-service.ts';
import {
  count,
  type Fields,
  healthOf,
  isThere,
  partFields,
  present,
  slotOf,
  text,
  times,
} from './redfish-fields.ts';

const MIB = 2 ** 20;
const GPU_TYPES: readonly unknown[] = ['GPU', 'Accelerator'];

export function readProcessors(processors: readonly Resource[]): ProcessorFacts[] {
  return there(processors)
    .filter(({ ProcessorType: type }) => type === 'CPU' || type === undefined || type === null)
    .map((fields) =>
      present({
        slot: text(fields.Socket) ?? slotOf(fields),
        model: text(fields.Model),
        manufacturer: text(fields.Manufacturer),
        architecture: text(fields.InstructionSet) ?? text(fields.ProcessorArchitecture),
        cores: count(fields.TotalCores),
        threads: count(fields.TotalThreads),
        serial_number: text(fields.SerialNumber),
        microcode: text(fieldsOf(fields.ProcessorId).MicrocodeInfo),
        health: healthOf(fields),
      }),
    );
}

export function readGpuProcessors(processors: readonly Resource[]): GpuFacts[] {
  return there(processors)
    .filter(({ ProcessorType: type }) => GPU_TYPES.includes(type))
    .map((fields) =>
      present({
        ...partFields(fields),
        memory_bytes: times(fieldsOf(fields.MemorySummary).TotalMemorySizeMiB, MIB),
      }),
    );
}

function there(resources: readonly Resource[]): Fields[] {
  return resources.map(({ fields }) => fields).filter(isThere);
}
