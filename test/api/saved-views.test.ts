// @module-tag extended: fleet/machines.test.ts has filters; this keeps them.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { refusal, startTestServer, type TestServer } from '../parts/server.ts';
import { fresh } from './fleet.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server?.stop());

async function viewsOf(role: 'viewer' | 'operator', scope = '') {
  const { secret } = await server.admin.createToken({ name: fresh(role), role, scope });
  return server.client(ViewService, secret);
}

const view = (name: string, query = 'filter=phase%3DREADY') => ({ page: 'machines', name, query });
const namesOf = ({ views }: { views: ReadonlyArray<{ name: string }> }) => views.map(({ name }) => name);

it('a personal view is its owner’s alone, and is replaced by one of the same name', async () => {
  const [anna, ben] = [await viewsOf('viewer'), await viewsOf('operator')];
  await anna.saveView(view('broken', 'filter=a'));
  await anna.saveView(view('broken', 'filter=b'));
  const { views } = await anna.listViews({ page: 'machines' });
  expect(views.map(({ name, query, shared }) => ({ name, query, shared }))).toEqual([
    { name: 'broken', query: 'filter=b', shared: false },
  ]);
  expect(namesOf(await ben.listViews({}))).not.toContain('broken');
  expect((await refusal(ben.deleteView({ page: 'machines', name: 'broken' }))).reason).toBe('VIEW_NOT_FOUND');
  await anna.deleteView({ page: 'machines', name: 'broken' });
  expect(namesOf(await anna.listViews({}))).not.toContain('broken');
});

it('a shared view is for all who may read its scope, and only operators share', async () => {
  const [viewer, operator] = [await viewsOf('viewer'), await viewsOf('operator')];
  const [ofA, ofB] = [await viewsOf('operator', 'customer_id=a'), await viewsOf('operator', 'customer_id=b')];
  await operator.shareView(view('everyone'));
  await ofA.shareView(view('of-a'));
  await ofB.shareView(view('of-a', 'filter=b'));
  expect(namesOf(await viewer.listViews({}))).toEqual(['everyone', 'of-a', 'of-a']);
  const seenByA = (await ofA.listViews({})).views.map(({ name, query }) => ({ name, query }));
  expect(seenByA).toEqual([view('everyone'), view('of-a')].map(({ name, query }) => ({ name, query })));
  expect((await refusal(ofA.unshareView({ page: 'machines', name: 'everyone' }))).reason).toBe(
    'VIEW_NOT_FOUND',
  );
  expect((await refusal(viewer.shareView(view('mine')))).reason).toBe('PERMISSION_DENIED');
});

it('a page that has no views and a name without letters are refused', async () => {
  const anna = await viewsOf('viewer');
  expect((await refusal(anna.saveView({ ...view('x'), page: 'audit' }))).reason).toBe('INVALID_FIELD');
  expect((await refusal(anna.saveView(view('  ')))).reason).toBe('MISSING_FIELD');
});
