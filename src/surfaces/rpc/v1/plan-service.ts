/** baremetal.v1.PlanService. */
import { missingField } from '../../../domain/error/fault.ts';
import { PlanService } from '../../../gen/baremetal/v1/plan_service_pb.ts';
import { findPlan, listPlans, planNotFound } from '../../../operations/plans/plans.ts';
import { pageSize, pageToken, readPageToken } from '../page-token.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Service } from '../service.ts';
import { defineV1Service } from './define-v1-service.ts';
import { checkPlanId } from './run-input.ts';
import { planMessage } from './to-proto.ts';

export function planService(dependencies: ServerDependencies): Service {
  return defineV1Service(
    PlanService,
    {
      async getPlan(request) {
        if (request.planId === '') throw missingField('plan_id');
        const planId = checkPlanId(request.planId);
        const plan = await findPlan(dependencies.database, planId);
        if (!plan) throw planNotFound(planId);
        return planMessage(plan, dependencies.stepDefaults);
      },

      async listPlans(request) {
        const after = readPageToken('v1.plans', '', request.pageToken);
        const page = await listPlans(dependencies.database, after, pageSize(request.pageSize));
        return {
          plans: page.rows.map((plan) => planMessage(plan, dependencies.stepDefaults)),
          nextPageToken: pageToken('v1.plans', '', page.next),
        };
      },
    },
    { getPlan: 'viewer', listPlans: 'viewer' },
  );
}
