import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { expect, it } from 'vitest';
import { ErrorInfoSchema } from '../../../src/gen/google/rpc/error_details_pb.ts';
import { failureOf } from './failure.ts';

it('of a BMC that does not respond says what to check, and nothing of the server', () => {
  const value = create(ErrorInfoSchema, {
    reason: 'BMC_NOT_ANSWERING',
    metadata: { machine_id: 'm-1', code: 'UNREACHABLE', check: 'its power and its network' },
  });
  const error = new ConnectError('the BMC bmc-1:443 does not answer', Code.Unavailable, undefined, [
    { desc: ErrorInfoSchema, value },
  ]);
  expect(failureOf(error)).toEqual({
    message: 'the BMC bmc-1:443 does not answer',
    advice: 'Check: its power and its network.',
  });
});

it('of a server that does not respond says so', () => {
  expect(failureOf(new ConnectError('no answer', Code.Unavailable)).advice).toContain(
    'The server is not responding',
  );
});
