/** Hardware profiles of baremetal.fleet.v1.HardwareService. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { missingField } from '../../../domain/error/fault.ts';
import { checkProfileRule, type HardwareProfile } from '../../../domain/hardware/hardware-profile.ts';
import type {
  HardwareProfileSchema,
  HardwareService,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import {
  deleteHardwareProfile,
  judgeFleet,
  listHardwareProfiles,
  setHardwareProfile,
} from '../../../store/hardware/hardware-profiles.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';

export function profileHandlers({
  database,
}: Pick<ServerDependencies, 'database'>): Pick<
  Handlers<typeof HardwareService>,
  'setHardwareProfile' | 'listHardwareProfiles' | 'deleteHardwareProfile'
> {
  return {
    async setHardwareProfile({ profile }, { caller }) {
      if (!profile) throw missingField('profile');
      const set = await setHardwareProfile(database, checkProfileRule(profile), caller);
      await judgeFleet(database, caller.actor);
      return profileMessage(set);
    },
    async listHardwareProfiles(_request, { caller: { scope } }) {
      return { profiles: (await listHardwareProfiles(database, scope)).map(profileMessage) };
    },
    async deleteHardwareProfile({ name }, { caller }) {
      if (name === '') throw missingField('name');
      const deleted = await deleteHardwareProfile(database, name, caller);
      await judgeFleet(database, caller.actor);
      return profileMessage(deleted);
    },
  };
}

function profileMessage(profile: HardwareProfile): MessageInitShape<typeof HardwareProfileSchema> {
  const { name, description, match, expect, createdBy, createdAt } = profile;
  return {
    name,
    description,
    match,
    expect: [...expect],
    createdBy,
    createdAt: timestampFromDate(createdAt),
  };
}
