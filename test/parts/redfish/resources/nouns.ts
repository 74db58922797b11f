/** Everything that a simulated BMC has. A resource that several nouns route is the first one's. */
import type { SimulatedNoun } from '../simulated-noun.ts';
import { accounts } from './accounts.ts';
import { bios } from './bios.ts';
import { bootOptions } from './boot-options.ts';
import { hardware } from './hardware.ts';
import { indicator } from './indicator.ts';
import { logServices } from './log-services.ts';
import { manager } from './manager.ts';
import { powerLimit } from './power-limit.ts';
import { sensors } from './sensors.ts';
import { serialConsole } from './serial-console.ts';
import { serviceRoot } from './service-root.ts';
import { sessions } from './sessions.ts';
import { storage } from './storage.ts';
import { systemBoot } from './system-boot.ts';
import { systemReset } from './system-reset.ts';
import { systems } from './systems.ts';
import { tasks } from './tasks.ts';
import { updateService } from './update-service.ts';
import { virtualMedia } from './virtual-media.ts';

export const NOUNS: readonly SimulatedNoun[] = [
  serviceRoot,
  sessions,
  systems,
  systemBoot,
  systemReset,
  virtualMedia,
  serialConsole,
  tasks,
  bios,
  bootOptions,
  updateService,
  storage,
  indicator,
  powerLimit,
  manager,
  accounts,
  sensors,
  logServices,
  // It has a route for everything else that is read.
  hardware,
];
