/** baremetal.fleet.v1.ViewService: saved views of the console's lists. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { checkNewView, checkViewKey, checkViewPage, type View } from '../../../domain/view/view.ts';
import { type ViewSchema, ViewService } from '../../../gen/baremetal/fleet/v1/view_service_pb.ts';
import { deleteView, listViews, saveView } from '../../../store/views/views.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { defineService, type Service } from '../service.ts';

export function viewService({ database }: Pick<ServerDependencies, 'database'>): Service {
  return defineService(
    ViewService,
    {
      async listViews({ page }, { caller }) {
        const views = await listViews(database, page === '' ? null : checkViewPage(page), caller);
        return { views: views.map(viewMessage) };
      },
      saveView: async (request, { caller }) =>
        viewMessage(await saveView(database, checkNewView(request), 'own', caller)),
      deleteView: async (request, { caller }) =>
        viewMessage(await deleteView(database, checkViewKey(request), 'own', caller)),
      shareView: async (request, { caller }) =>
        viewMessage(await saveView(database, checkNewView(request), 'shared', caller)),
      unshareView: async (request, { caller }) =>
        viewMessage(await deleteView(database, checkViewKey(request), 'shared', caller)),
    },
    {
      listViews: 'viewer',
      saveView: 'viewer',
      deleteView: 'viewer',
      shareView: 'operator',
      unshareView: 'operator',
    },
  );
}

function viewMessage({
  page,
  name,
  query,
  sharing,
  createdBy,
  createdAt,
}: View): MessageInitShape<typeof ViewSchema> {
  return {
    page,
    name,
    query,
    shared: sharing === 'shared',
    createdBy,
    createdAt: timestampFromDate(createdAt),
  };
}
