/** The task service, its tasks and their monitors (TaskService, Task; DSP0266, "Asynchronous operations"). */
import { type Body, collection, failure, link, ok, type SimulatedNoun } from '../simulated-noun.ts';
import { type SimulatedTask, TASKS } from '../simulated-tasks.ts';
import type { RedfishSimulator } from '../simulator.ts';

export const tasks: SimulatedNoun = {
  routes: {
    'GET /redfish/v1/TaskService': ({ path }) =>
      ok({
        '@odata.id': path,
        '@odata.type': '#TaskService.v1_1_4.TaskService',
        Id: 'TaskService',
        Name: 'Task Service',
        Tasks: link(TASKS),
      }),
    [`GET ${TASKS}`]: (request) => {
      const { all } = request.bmc.tasks;
      const bodyAt = (path: string) => {
        const task = all.find(({ id }) => path.endsWith(`/${id}`));
        return task && bodyOf(task, request.bmc);
      };
      return collection(
        request,
        all.map(({ id }) => `${TASKS}/${id}`),
        bodyAt,
      );
    },
    [`GET ${TASKS}/:id`]: ({ bmc, parameters: { id } }) => {
      const task = bmc.tasks.all.find((each) => each.id === id);
      return task ? ok(bodyOf(task, bmc), retryAfter(bmc)) : null;
    },
    'GET /redfish/v1/TaskService/TaskMonitors/:id': ({ bmc, parameters: { id } }) => {
      const task = bmc.tasks.all.find((each) => each.id === id);
      if (!task) return null;
      switch (task.state) {
        case 'Running':
        case 'Pending':
          return { status: 202, body: bodyOf(task, bmc), headers: retryAfter(bmc) };
        case 'Completed':
          return { status: 204 };
        case 'Exception':
          return failure(500, task.message.id, task.message.text);
      }
    },
  },
  adds: { root: () => ({ Tasks: link('/redfish/v1/TaskService') }) },
};

function retryAfter({ tasks: { retryAfterSeconds: seconds } }: RedfishSimulator): Record<string, string> {
  return seconds === null ? {} : { 'retry-after': String(seconds) };
}

function bodyOf(task: SimulatedTask, { shape }: RedfishSimulator): Body {
  const { id, name, target, state, percent, message } = task;
  return {
    '@odata.id': `${TASKS}/${id}`,
    '@odata.type': '#Task.v1_4_3.Task',
    Id: id,
    Name: name,
    // The job of an iDRAC that is scheduled has a task that is starting.
    TaskState: state === 'Pending' && shape.scheduledJobs ? 'Starting' : state,
    TaskStatus: state === 'Exception' ? 'Critical' : 'OK',
    PercentComplete: percent,
    TaskMonitor: `/redfish/v1/TaskService/TaskMonitors/${id}`,
    Payload: { TargetUri: target, HttpOperation: 'POST' },
    Messages: [{ MessageId: message.id, Message: message.text }],
  };
}
