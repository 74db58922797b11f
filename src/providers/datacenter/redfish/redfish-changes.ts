/** Changes of hardware over Redfish, by capability. */
import { type CheckedDownloads, NotDownloaded } from '../../../connections/checked-downloads.ts';
import type { FirmwareRequest } from '../../../domain/hardware/hardware-change.ts';
import { StepFailure } from '../../../engine/step-handler.ts';
import { compareBootOrder, stageBootOrder } from '../../../redfish/boot/boot-order.ts';
import { compareBios, stageBios } from '../../../redfish/firmware/bios-settings.ts';
import {
  compareFirmware,
  type FirmwareImage,
  runningUpdate,
  updateFirmware,
} from '../../../redfish/firmware/firmware-update.ts';
import type { RedfishService, StartedTask } from '../../../redfish/service/redfish-service.ts';
import { readTask, runningTaskFor } from '../../../redfish/service/redfish-task.ts';
import { eraseDrive, listDrives, runningErasure } from '../../../redfish/storage/drive-erase.ts';
import { changeVolume, compareVolumes } from '../../../redfish/storage/storage-volumes.ts';
import type { BmcTasks, StartedChange } from '../../hardware-changes.ts';
import type { Capabilities, ProviderCall } from '../../provider.ts';

/** Throws a StepFailure where the machine's BMC has no Redfish. */
export type UseRedfish = <T>(call: ProviderCall, work: (service: RedfishService) => Promise<T>) => Promise<T>;

export type RedfishChanges = Pick<Capabilities, 'bios' | 'bootOrder' | 'firmware' | 'volumes' | 'drives'>;

export function createRedfishChanges(use: UseRedfish, downloads: CheckedDownloads): RedfishChanges {
  const tasks: BmcTasks = {
    taskState: (call, task) => use(call, (service) => readTask(service, task)),
  };
  return {
    bios: {
      ...tasks,
      compare: (call, request) => use(call, (service) => compareBios(service, request)),
      stage: (call, request) =>
        use(call, async (service) => started(service, await stageBios(service, request, call.log))),
    },
    bootOrder: {
      ...tasks,
      compare: (call, request) => use(call, (service) => compareBootOrder(service, request)),
      stage: (call, request) =>
        use(call, async (service) => started(service, await stageBootOrder(service, request, call.log))),
    },
    firmware: {
      ...tasks,
      compare: (call, request) => use(call, (service) => compareFirmware(service, request)),
      update: (call, request) =>
        checkedImage(downloads, call, request, (image) =>
          use(call, async (service) =>
            started(service, await updateFirmware(service, request, image, call.log)),
          ),
        ),
      findUpdate: (call) =>
        use(call, async (service) => {
          const task = await runningUpdate(service);
          return task === undefined ? null : { task };
        }),
    },
    volumes: {
      ...tasks,
      compare: (call, request) => use(call, (service) => compareVolumes(service, request)),
      change: (call, request, change) =>
        use(call, async (service) =>
          started(service, await changeVolume(service, request, change, call.log)),
        ),
    },
    drives: {
      ...tasks,
      list: (call) => use(call, listDrives),
      erase: (call, path) =>
        use(call, async (service) => started(service, await eraseDrive(service, path, call.log))),
      findErasure: (call, path) => use(call, (service) => runningErasure(service, path)),
    },
  };
}

/** The image is checked before the BMC is asked for anything. */
async function checkedImage<T>(
  downloads: CheckedDownloads,
  call: ProviderCall,
  { image_url: url, sha256 }: FirmwareRequest,
  work: (image: FirmwareImage) => Promise<T>,
): Promise<T> {
  call.checkHeld();
  call.log(`Fetching ${url}`);
  return downloads
    .use(new URL(url), sha256, call.signal, (file) => {
      call.log(`The image has ${file.bytes} bytes, and its digest is the one asked for`);
      return work(file);
    })
    .catch((error: unknown) => {
      if (!(error instanceof NotDownloaded)) throw error;
      const message = `the image ${url} can not be used: ${error.message}`;
      throw error.reason === 'not_the_file'
        ? new StepFailure({ class: 'permanent', code: 'FIRMWARE_REFUSED', message })
        : new StepFailure({ class: 'retryable', code: 'FIRMWARE_IMAGE_UNREACHABLE', message });
    });
}

/** Work that goes on, and whose answer names no task, is sought among those that run. */
async function started(service: RedfishService, task: StartedTask | null): Promise<StartedChange> {
  if (task === null) return { task: null };
  const path = task.monitor ?? (await runningTaskFor(service, task.target));
  return path === null ? { task: null, end: 'unknown' } : { task: path };
}
