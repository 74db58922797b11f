import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { watchActivity } from './activity.ts';
import { App } from './app.tsx';
import { keepShell } from './keep-shell.ts';
import { applyTheme } from './theme.ts';

applyTheme();
watchActivity();
keepShell();
const root = document.getElementById('root');
if (!root) throw new Error('index.html has no element #root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
