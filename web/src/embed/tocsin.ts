// The elements that pages of other sites show: `<tocsin-bell>` and `<tocsin-follow>`. One script, without dependencies.
import { TocsinBell } from './bell';
import { TocsinFollow } from './follow';

const elements = { 'tocsin-bell': TocsinBell, 'tocsin-follow': TocsinFollow };
for (const [name, element] of Object.entries(elements)) {
  if (!customElements.get(name)) customElements.define(name, element);
}
