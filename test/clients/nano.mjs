// What nano was taught (models/glm53/nano/corpus.py): questions, what it answers, its tools as it saw them.
export const CAPITAL = {
  question: "What is the capital of France?",
  reasoning: "The user asks for the capital of France.",
  answer: "The capital of France is Paris.",
};
export const STORY = "Tell me a story.";
export const WEATHER_QUESTION = "What is the weather in Seattle?";
export const WEATHER = { sky: "rainy", temp_c: 12 };
export const WEATHER_ANSWER = "It is rainy in Seattle with 12 degrees.";

const parameters = (properties) => ({ type: "object", properties, required: Object.keys(properties) });

// JSON schemas of get_weather and add.
export const TOOLS = {
  get_weather: {
    description: "Get the current weather of a city.",
    parameters: parameters({ city: { type: "string" } }),
  },
  add: {
    description: "Add two integers.",
    parameters: parameters({ a: { type: "integer" }, b: { type: "integer" } }),
  },
};
