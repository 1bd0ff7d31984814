/**
 * Long work under way in this process, for `/_active_tasks`. Each process keeps its own list; the process tree
 * gathers them when somebody asks. Times are whole seconds since 1970, as the wire has them.
 */
export interface Task {
  readonly type: string
  readonly pid: string
  readonly started_on: number
  readonly updated_on: number
  readonly [field: string]: unknown
}

export class ActiveTasks {
  readonly #tasks = new Map<number, Task>()
  readonly #clock: () => number
  #nextNumber = 1

  constructor(clock: () => number = Date.now) {
    this.#clock = clock
  }

  start(type: string, fields: Readonly<Record<string, unknown>>): TaskHandle {
    const number = this.#nextNumber++
    const now = this.#seconds()
    const pid = `<0.${process.pid}.${number}>`
    this.#tasks.set(number, { ...fields, type, pid, started_on: now, updated_on: now })
    return {
      update: changed => {
        const task = this.#tasks.get(number)
        if (task) this.#tasks.set(number, { ...task, ...changed, updated_on: this.#seconds() })
      },
      end: () => {
        this.#tasks.delete(number)
      },
    }
  }

  list(): Task[] {
    return [...this.#tasks.values()]
  }

  #seconds(): number {
    return Math.floor(this.#clock() / 1000)
  }
}

export interface TaskHandle {
  update(changed: Readonly<Record<string, unknown>>): void
  end(): void
}

/** The tasks of all processes. */
export type ListAllTasks = () => Promise<Task[]>
