/** The least that a grpc-js server can do: what GetMachine is compared with. */
import * as grpc from '@grpc/grpc-js';

const bytes = (buffer: Buffer): Buffer => buffer;
const server = new grpc.Server();
server.addService(
  {
    getMachine: {
      path: '/baremetal.v2.MachineService/GetMachine',
      requestStream: false,
      responseStream: false,
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    },
  },
  {
    getMachine: (_call: grpc.ServerUnaryCall<Buffer, Buffer>, callback: grpc.sendUnaryData<Buffer>) =>
      callback(null, Buffer.alloc(0)),
  },
);
server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  process.stdout.write(`${JSON.stringify({ grpcPort: port })}\n`);
});
process.once('SIGTERM', () => server.forceShutdown());
