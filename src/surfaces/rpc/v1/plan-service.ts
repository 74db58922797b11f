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
      async getPlan(request, { caller }) {
        if (request.planId === '') throw missingField('plan_id');
        const planId = checkPlanId(request.planId);
        const plan = await findPlan(dependencies.database, planId, caller.scope);
        if (!plan) throw planNotFound(planId);
        return planMessage(plan, dependencies.stepDefaults);
      },

      async listPlans(request, { caller }) {
        const paged = { list: 'v1.plans', filter: '', scope: caller.scope };
        const after = readPageToken(paged, request.pageToken);
        const page = await listPlans(dependencies.database, {
          after,
          size: pageSize(request.pageSize),
          scope: caller.scope,
        });
        return {
          plans: page.rows.map((plan) => planMessage(plan, dependencies.stepDefaults)),
          nextPageToken: pageToken(paged, page.next),
        };
      },
    },
    { getPlan: 'viewer', listPlans: 'viewer' },
  );
}
