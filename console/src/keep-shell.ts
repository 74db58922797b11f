/** Browsers offer service workers to pages with TLS or on loopback only; elsewhere the console works without. */
export function keepShell(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return;
  // After the page is there: its own files come first.
  const register = () =>
    void navigator.serviceWorker.register('/service-worker.js').catch((error: unknown) => {
      // biome-ignore lint/suspicious/noConsole: the page works, only opening it without a server does not; the log says why
      console.warn('the console cannot be kept for when the server is away:', error);
    });
  if (document.readyState === 'complete') register();
  else addEventListener('load', register);
}
