// Reads a condition into a tree: the part of the language that a form can show. The server checks the rest.
export type Value = string | number | boolean | null;
export type Node =
  | { kind: 'or' | 'and'; parts: Node[] }
  | { kind: 'not'; part: Node }
  | { kind: 'compare'; path: string; operator: string; values: Value[] }
  | { kind: 'call'; target: string; name: string; values: Value[][] };

type Token = { kind: 'text' | 'number' | 'word' | 'sign'; text: string };

const TOKENS =
  /\s*(?:'((?:[^']|'')*)'|"((?:[^"]|"")*)"|(-?\d+(?:\.\d+)?)|([A-Za-z_][\w]*)|(&&|\|\||[=!<>]=|[<>!(){}[\],.]))/y;
const OPERATORS: Record<string, string> = { eq: '==', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=' };
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=', 'in', 'matches']);

class Unreadable extends Error {}

/** Return the tree of a condition; null if it is empty, wrong, or says more than a tree of this kind holds. */
export function parseCondition(condition: string): Node | null {
  try {
    return new Reader(tokensOf(condition)).all();
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

function tokensOf(condition: string): Token[] {
  const text = condition.trimEnd();
  const tokens: Token[] = [];
  TOKENS.lastIndex = 0;
  while (TOKENS.lastIndex < text.length) {
    const found = TOKENS.exec(text);
    if (!found) throw new Unreadable();
    const [, single, double, number, word, sign] = found;
    if (single !== undefined) tokens.push({ kind: 'text', text: single.replaceAll("''", "'") });
    else if (double !== undefined) tokens.push({ kind: 'text', text: double.replaceAll('""', '"') });
    else if (number !== undefined) tokens.push({ kind: 'number', text: number });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word });
    else tokens.push({ kind: 'sign', text: sign! });
  }
  return tokens;
}

class Reader {
  #at = 0;
  constructor(private readonly tokens: Token[]) {}

  all(): Node {
    const node = this.#joined('or', ['||', 'or'], () =>
      this.#joined('and', ['&&', 'and'], () => this.#single()),
    );
    if (this.#at < this.tokens.length) throw new Unreadable();
    return node;
  }

  #joined(kind: 'or' | 'and', words: string[], next: () => Node): Node {
    const parts = [next()];
    while (this.#takes(...words)) parts.push(next());
    return parts.length === 1 ? parts[0]! : { kind, parts };
  }

  #single(): Node {
    if (this.#takes('!', 'not')) return { kind: 'not', part: this.#single() };
    if (this.#takes('(')) {
      const inner = this.#joined('or', ['||', 'or'], () =>
        this.#joined('and', ['&&', 'and'], () => this.#single()),
      );
      this.#expect(')');
      return inner;
    }
    return this.#leaf();
  }

  #leaf(): Node {
    const steps = [this.#word()];
    while (this.#takes('.')) steps.push(this.#word());
    if (this.#takes('(')) {
      const values: Value[][] = [];
      while (!this.#takes(')')) {
        values.push(this.#values());
        if (!this.#takes(',') && this.#peek()?.text !== ')') throw new Unreadable();
      }
      return { kind: 'call', target: steps.slice(0, -1).join('.'), name: steps.at(-1)!, values };
    }
    const token = this.#next();
    const operator = OPERATORS[token.text.toLowerCase()] ?? token.text.toLowerCase();
    if (token.kind === 'text' || !COMPARISONS.has(operator)) throw new Unreadable();
    return { kind: 'compare', path: steps.join('.'), operator, values: this.#values() };
  }

  #values(): Value[] {
    const closing = this.#takes('{') ? '}' : this.#takes('[') ? ']' : '';
    if (!closing) return [this.#value()];
    const values: Value[] = [];
    while (!this.#takes(closing)) {
      values.push(this.#value());
      if (!this.#takes(',') && this.#peek()?.text !== closing) throw new Unreadable();
    }
    return values;
  }

  #value(): Value {
    const token = this.#next();
    if (token.kind === 'text') return token.text;
    if (token.kind === 'number') return Number(token.text);
    const words: Record<string, Value> = { true: true, false: false, null: null };
    if (token.kind === 'word' && token.text in words) return words[token.text]!;
    if (token.kind === 'word') {
      if (this.#peek()?.text === '.' || this.#peek()?.text === '(') throw new Unreadable();
      if (token.text === 'entity') return 'entity'; // of `user.owns(entity)`
    }
    throw new Unreadable();
  }

  #peek = (): Token | undefined => this.tokens[this.#at];

  #next(): Token {
    const token = this.tokens[this.#at++];
    if (!token) throw new Unreadable();
    return token;
  }

  #word(): string {
    const token = this.#next();
    if (token.kind !== 'word') throw new Unreadable();
    return token.text;
  }

  #takes(...texts: string[]): boolean {
    const token = this.#peek();
    if (!token || token.kind === 'text' || !texts.includes(token.text.toLowerCase())) return false;
    this.#at++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#takes(text)) throw new Unreadable();
  }
}
