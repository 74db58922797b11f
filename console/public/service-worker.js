/**
 * Keeps the files of the console, so that a page opens while the server is away: the frame and what happened, instead of the
 * browser's own error page. Data is never kept here. A page is always asked for at the server first, so that an update of the server
 * is seen at once; files below /assets have a digest of their content in their name, and never change.
 */
const CACHE = 'ingot-console';
/** Written by the build: the files, and a digest of them all, by which the browser sees that this script has changed. */
const FILES = [];
const SERVER_PATHS = /^\/(api|auth|boot|healthz|readyz)(\/|$)/;
const SHELL = '/index.html';

addEventListener('install', (event) => {
  skipWaiting();
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES)));
});

addEventListener('activate', (event) => {
  event.waitUntil(Promise.all([clients.claim(), removeOldFiles()]));
});

async function removeOldFiles() {
  const cache = await caches.open(CACHE);
  const requests = await cache.keys();
  const old = requests.filter(({ url }) => !FILES.includes(new URL(url).pathname));
  await Promise.all(old.map((request) => cache.delete(request)));
}

addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin || request.method !== 'GET') return;
  if (request.mode === 'navigate' && !SERVER_PATHS.test(pathname)) {
    event.respondWith(fetch(request).catch(() => caches.match(SHELL)));
  } else if (FILES.includes(pathname)) {
    event.respondWith(caches.match(pathname).then((kept) => kept ?? fetch(request)));
  }
});
