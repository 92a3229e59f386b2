/** What other modules may read of the survey of the service. */
export { countedMax } from './survey.ts'
