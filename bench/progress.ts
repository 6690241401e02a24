/** Reports the start and the duration of a task. */
export async function timed<T>(name: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  progress(`${name} …`)
  const result = await work()
  progress(`${name} took ${((performance.now() - start) / 1000).toFixed(0)} s`)
  return result
}

/** Progress goes to standard error, so that the report can be redirected. */
export function progress(line: string): void {
  console.error(line)
}
