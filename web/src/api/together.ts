// Requests that are asked for one by one and sent together: a list asks for each of its rows, the server answers once.

const WAIT_MS = 10;

type Batch<Answer> = { keys: Set<string>; answers: Promise<ReadonlyMap<string, Answer>> };

/** Return a function that answers for one key; keys that are asked for within a moment are read in one request. */
export function askedTogether<Answer>(
  readAll: (keys: readonly string[]) => Promise<ReadonlyMap<string, Answer>>,
  most: number,
): (key: string) => Promise<Answer | undefined> {
  let batch: Batch<Answer> | undefined;
  const begin = (): Batch<Answer> => {
    const keys = new Set<string>();
    const answers = new Promise<void>((resolve) => setTimeout(resolve, WAIT_MS)).then(() => {
      if (batch?.keys === keys) batch = undefined;
      return readAll([...keys]);
    });
    return { keys, answers };
  };
  return async (key) => {
    if (!batch || (batch.keys.size >= most && !batch.keys.has(key))) batch = begin();
    batch.keys.add(key);
    return (await batch.answers).get(key);
  };
}
