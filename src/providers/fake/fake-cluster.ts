/** The node of a simulated machine in its simulated cluster. */
import { StepFailure } from '../../engine/step-handler.ts';
import { type ClusterJoin, type NodeControl, operationOf, type ProviderCall } from '../provider.ts';
import { failuresWanted, hangs } from './fake-labels.ts';
import { sightOf } from './fake-state.ts';
import { countFailures, FAILURE_WORDS, type FakeTasks, taskCall } from './fake-tasks.ts';

export function createFakeCluster(tasks: FakeTasks): ClusterJoin & NodeControl {
  return {
    async membership(call, clusterRef) {
      const state = await tasks.observe(call);
      const joined = state.clusterRef === clusterRef;
      return { joined, pending: state.task?.kind === 'join', pollAfterMs: tasks.msLeft(state) };
    },
    async ready(call, clusterRef) {
      const { labels, machineId } = call.machine;
      const state = await tasks.state(machineId);
      if (countFailures(state, labels) < failuresWanted(labels, call.step, 'verify')) {
        await tasks.countFailure(call);
        const message = FAILURE_WORDS.verify;
        throw new StepFailure({ class: 'retryable', code: 'EXECUTION_FAILED', message });
      }
      const { node } = sightOf(state, machineId, clusterRef);
      return node?.ready === true && !hangs(labels, call.step, 'verify');
    },
    async join(call, clusterRef) {
      call.log(`Joining ${clusterRef}`);
      await tasks.start(call, { kind: 'join', target: clusterRef });
    },
    async node(call, clusterRef) {
      const state = await tasks.observe(taskCall(call, 'drain'));
      const sight = sightOf(state, call.machine.machineId, clusterRef);
      return { sight, pollAfterMs: tasks.msLeft(state) };
    },
    async cordon(call, clusterRef) {
      const state = await tasks.state(call.machine.machineId);
      if (state.clusterRef !== clusterRef) throw nodeNotFound(clusterRef, call);
      if (state.cordonedBy === operationOf(call)) return;
      call.log('Cordoning the node');
      await tasks.run(taskCall(call, 'cordon'), { kind: 'cordon', target: operationOf(call) });
    },
    async evict(call) {
      call.log('Evicting workloads');
      await tasks.start(taskCall(call, 'drain'), { kind: 'drain', target: '' });
      return { refused: '', pollAfterMs: tasks.msLeft(await tasks.state(call.machine.machineId)) };
    },
    async uncordon(call, clusterRef, whose) {
      const { cordonedBy, clusterRef: joined } = await tasks.state(call.machine.machineId);
      if (joined !== clusterRef && whose === 'any') throw nodeNotFound(clusterRef, call);
      if (cordonedBy === '') return true;
      if (whose === 'own' && cordonedBy !== operationOf(call)) return false;
      call.log('Uncordoning the node');
      await tasks.run(taskCall(call, 'uncordon'), { kind: 'uncordon', target: '' });
      return true;
    },
  };
}

function nodeNotFound(clusterRef: string, { machine }: ProviderCall): StepFailure {
  return new StepFailure({
    class: 'permanent',
    code: 'NODE_NOT_FOUND',
    message: `${clusterRef} has no node ${machine.machineId}`,
  });
}
