import './app.css';
import { createRoot } from 'react-dom/client';
import { DRAWING_STYLE } from '../../drawing/style.js';
import { App } from './app.js';

// The style of pictures is the same as in files of them; the page's rules come later and set its colours.
const drawings = new CSSStyleSheet();
drawings.replaceSync(DRAWING_STYLE);
document.adoptedStyleSheets = [drawings];

const root = document.getElementById('studio');
if (root !== null) createRoot(root).render(<App />);
