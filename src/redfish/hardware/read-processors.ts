/** Processors of a Redfish service: sockets, and GPUs where it has them there. */
import type { GpuFacts, ProcessorFacts } from '../../domain/install/hardware-inventory.ts';
import { type Fields, fieldsOf, linkOf } from '../connection/answer-fields.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';
import { count, healthOf, isThere, partFields, present, slotOf, text, times } from './part-fields.ts';

const MIB = 2 ** 20;
const GPU_TYPES: readonly unknown[] = ['GPU', 'Accelerator'];

export function readProcessors(processors: readonly Resource[]): ProcessorFacts[] {
  return presentFields(processors)
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

export async function readGpuProcessors(
  service: RedfishService,
  processors: readonly Resource[],
): Promise<GpuFacts[]> {
  const gpus = presentFields(processors).filter(({ ProcessorType: type }) => GPU_TYPES.includes(type));
  const found: GpuFacts[] = [];
  for (const fields of gpus)
    found.push(
      present({
        ...partFields(fields),
        model: text(fields.Model) ?? (await modelOfCard(service, fields)),
        memory_bytes: times(fieldsOf(fields.MemorySummary).TotalMemorySizeMiB, MIB),
      }),
    );
  return found;
}

/** Some have the model at the PCIe device only. */
async function modelOfCard(service: RedfishService, { Links: links }: Fields): Promise<string | undefined> {
  const path = linkOf(fieldsOf(links).PCIeDevice);
  const card = path === null ? null : await service.find(path);
  return text(card?.fields.Model) ?? text(card?.fields.Name);
}

function presentFields(resources: readonly Resource[]): Fields[] {
  return resources.map(({ fields }) => fields).filter(isThere);
}
