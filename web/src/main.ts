// Start of the web application. Next: App.svelte.
import './styles/tokens.css';
import './styles/base.css';
import './app/theme.svelte';
import { mount } from 'svelte';
import App from './App.svelte';

mount(App, { target: document.getElementById('app')! });
