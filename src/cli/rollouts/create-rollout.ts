import type { MessageInitShape } from '@bufbuild/protobuf';
import type { CreateRolloutRequestSchema, Rollout } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { isConnectionLost } from '../connection/call-error.ts';
import { plainText } from '../output/plain-text.ts';

export async function createRollout(
  { err }: CommandContext,
  api: Api,
  request: MessageInitShape<typeof CreateRolloutRequestSchema> & { readonly requestId: string },
): Promise<Rollout> {
  try {
    return await api.rollouts.createRollout(request);
  } catch (error) {
    // The server may have accepted it. The same request id never creates a second one.
    if (isConnectionLost(error))
      err.line(`  retry safely: the same command with --request-id=${plainText(request.requestId)}`);
    throw error;
  }
}
